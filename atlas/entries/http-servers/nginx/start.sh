#!/bin/sh
# nginx as its guide begins, in the foreground, with its files in a folder of ours.
mkdir -p "$3/www"
printf '%0400d' 0 > "$3/www/page.html"
cat > "$3/nginx.conf" <<END
daemon off;
master_process off;
pid $3/nginx.pid;
error_log $3/error.log;
events { }
http {
    access_log off;
    client_body_temp_path $3/body;
    proxy_temp_path $3/proxy;
    fastcgi_temp_path $3/fastcgi;
    uwsgi_temp_path $3/uwsgi;
    scgi_temp_path $3/scgi;
    server { listen $2; location / { root $3/www; } }
}
END
exec nginx -e "$3/error.log" -c "$3/nginx.conf"
