<!DOCTYPE html>
<title>Articles</title>
<table>
% for article in articles:
<tr><td>{{article["number"]}}</td><td>{{article["name"]}}</td><td>{{article["price"]}}</td><td>{{article["text"]}}</td></tr>
% end
</table>
