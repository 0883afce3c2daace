#include <algorithm>
#include <cstdio>
#include <vector>

static bool enough(const std::vector<long long> &needs, int trips, long long capacity) {
    int used = 1;
    long long water = 0;
    for (size_t i = 0; i < needs.size(); ++i) {
        water += needs[i];
        if (water + static_cast<long long>(i) + 1 > capacity) {
            ++used;
            water = needs[i];
        }
    }
    return used <= trips;
}

int main() {
    int plots, trips;
    if (std::scanf("%d %d", &plots, &trips) != 2) return 1;
    std::vector<long long> needs(plots);
    long long low = 0, high = plots;
    for (int i = 0; i < plots; ++i) {
        if (std::scanf("%lld", &needs[i]) != 1) return 1;
        low = std::max(low, needs[i] + i + 1);
        high += needs[i];
    }
    while (low < high) {
        long long middle = (low + high) / 2;
        if (enough(needs, trips, middle))
            high = middle;
        else
            low = middle + 1;
    }
    std::printf("%lld\n", low);
    return 0;
}
