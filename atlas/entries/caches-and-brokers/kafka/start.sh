#!/bin/sh
# A broker that is its own controller: PORT, what it tells clients that it is, a folder, a class path.
cat > "$3/kafka.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$(($1 + 2))
listeners=PLAINTEXT://0.0.0.0:$1,CONTROLLER://127.0.0.1:$(($1 + 2))
advertised.listeners=PLAINTEXT://$2
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
log.dirs=$3/kafka-$1
END
java -Xmx256m -cp "$4" kafka.tools.StorageTool format --ignore-formatted --cluster-id atlasatlasatlasatlasat --config "$3/kafka.properties" >&2
exec java -Xmx512m -cp "$4" kafka.Kafka "$3/kafka.properties" >&2
