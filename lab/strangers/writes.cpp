// Asks in two writes through a stream buffer that is flushed after each.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <ext/stdio_filebuf.h>
#include <iostream>
#include <string>

int main(int count, char **words) {
    int end = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(std::stoi(words[1]));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (connect(end, reinterpret_cast<sockaddr *>(&to), sizeof to)) return 1;
    if (count > 2) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    __gnu_cxx::stdio_filebuf<char> buffer(end, std::ios::out);
    std::ostream out(&buffer);
    for (int i = 0; i < 20; i++) {
        auto began = std::chrono::steady_clock::now();
        out << std::string(40, 'h') << std::flush << std::string(400, 'b') << std::flush;
        char answer[2];
        if (recv(end, answer, sizeof answer, MSG_WAITALL) != sizeof answer) return 1;
        std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
        std::cout << took.count() << '\n';
    }
}
