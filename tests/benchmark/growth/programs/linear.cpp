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
    for (unsigned x : a) for (int i = 0; i < 60; i++) total = total * 6364136223846793005ULL % 1000003 + x;
    printf("%llu\n", total);
}
