<?php
// Serves MediaWiki with PHP's own server; sitemaps lie in a folder of their own.
$path = parse_url($_SERVER["REQUEST_URI"], PHP_URL_PATH);
if (str_starts_with($path, "/sitemap/")) {
    $file = getenv("WIKI_SITEMAPS") . "/" . basename($path);
    if (!is_file($file)) {
        http_response_code(404);
        return true;
    }
    header("Content-Type: application/xml");
    readfile($file);
    return true;
}
if ($path === "/robots.txt") {
    http_response_code(404);
    return true;
}
return false;
