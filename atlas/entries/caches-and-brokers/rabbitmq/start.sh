#!/bin/sh
# RabbitMQ with all its files in a folder of ours, and the port mapper of Erlang as a child.
export HOME="$2" RABBITMQ_MNESIA_BASE="$2/mnesia" RABBITMQ_LOG_BASE="$2/log" RABBITMQ_NODE_PORT="$1" RABBITMQ_NODENAME=atlas@localhost
export RABBITMQ_ENABLED_PLUGINS_FILE="$2/plugins" RABBITMQ_CONFIG_FILE="$2/rabbitmq" RABBITMQ_PID_FILE="$2/pid" RABBITMQ_LOGS=-
echo '[].' > "$2/plugins"
printf 'loopback_users = none\n' > "$2/rabbitmq.conf"
epmd &
exec /usr/lib/rabbitmq/bin/rabbitmq-server
