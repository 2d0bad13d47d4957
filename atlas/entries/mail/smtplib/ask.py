"""smtplib, a connection for all mails."""
import smtplib, sys
import loop

address, port, exchanges = sys.argv[1:]
connection = smtplib.SMTP(address, int(port), local_hostname="atlas")
loop.ask(int(exchanges), lambda: connection.sendmail("a@example.org", ["b@example.org"], "Subject: atlas\r\n\r\n" + ("x" * 70 + "\r\n") * 5))
