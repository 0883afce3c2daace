#include <algorithm>
#include <cstdio>

int main() {
    int n, capacity;
    if (std::scanf("%d %d", &n, &capacity) != 2) return 1;
    long long metres = 0;
    int farthest = 0;
    for (int i = 0; i < n; ++i) {
        int shelf;
        if (std::scanf("%d", &shelf) != 1) return 1;
        if (i % capacity == 0) {
            metres += 2LL * farthest;
            farthest = 0;
        }
        farthest = std::max(farthest, shelf);
    }
    std::printf("%lld\n", metres + farthest);
    return 0;
}
