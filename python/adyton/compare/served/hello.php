<?php
// Twelve bytes.
header('Content-Length: 12');
echo 'Hello World!';
