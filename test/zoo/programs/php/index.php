<?php
// The service of the zoo, for PHP's own server.
$letters = 'abcdefghijklmnopqrstuvwxyz';
header('Content-Type: text/plain');
switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
    case '/echo':
        echo 'len=', strlen(file_get_contents('php://input'));
        break;
    case '/early':
        http_response_code(401);
        echo 'early';
        break;
    case '/range':
        [$start, $end] = explode('-', substr($_SERVER['HTTP_RANGE'], 6));
        http_response_code(206);
        header("Content-Range: bytes $start-$end/26");
        echo substr($letters, (int) $start, $end - $start + 1);
        break;
    case '/events':
        header('Content-Type: text/event-stream');
        foreach ([1, 2, 3] as $n) {
            echo "data: $n\n\n";
            flush();
            usleep(10000);
        }
        break;
    default:
        header('Content-Length: 5');
        echo 'hello';
}
