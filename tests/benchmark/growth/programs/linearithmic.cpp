#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>
int main() {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    std::vector<unsigned> a(n);
    for (unsigned& x : a) if (scanf("%u", &x) != 1) return 1;
    unsigned long long total = 0;
    std::vector<unsigned> one(a), other(n);
    for (int round = 0; round < 12; round++) {
        for (unsigned& x : one) x = x * 2654435761u + round;
        for (int width = 1; width < n; width *= 2) {
            for (int start = 0; start < n; start += 2 * width) {
                int middle = std::min(start + width, n), end = std::min(start + 2 * width, n);
                std::merge(one.begin() + start, one.begin() + middle, one.begin() + middle, one.begin() + end, other.begin() + start);
            }
            one.swap(other);
        }
        total += one[n / 2];
    }
    printf("%llu\n", total);
}
