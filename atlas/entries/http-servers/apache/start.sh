#!/bin/sh
# httpd in the foreground with the least that serves a file.
mkdir -p "$2/www"
printf '%0400d' 0 > "$2/www/page.html"
modules=/usr/lib/apache2/modules
cat > "$2/httpd.conf" <<END
ServerName atlas
Listen $1
PidFile $2/httpd.pid
ErrorLog $2/error.log
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule mime_module $modules/mod_mime.so
TypesConfig /etc/mime.types
MaxKeepAliveRequests 0
DocumentRoot $2/www
END
exec apache2 -D FOREGROUND -f "$2/httpd.conf"
