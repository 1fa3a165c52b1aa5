<?php
// The page of articles, as application.py makes it; the connection stays open from one request to the next.
$database = new PDO('sqlite:' . __DIR__ . '/articles.db', null, null, [
    PDO::ATTR_PERSISTENT => true,
    PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY,
]);
$page = "<!DOCTYPE html>\n<title>Articles</title>\n<table>\n";
foreach ($database->query('SELECT number, name, price, text FROM articles ORDER BY number', PDO::FETCH_NUM) as $row) {
    [$number, $name, $price, $text] = $row;
    $page .= "<tr><td>$number</td><td>" . htmlspecialchars($name) . "</td><td>$price</td><td>"
        . htmlspecialchars($text) . "</td></tr>\n";
}
$page .= "</table>\n";
header('Content-Length: ' . strlen($page));
echo $page;
