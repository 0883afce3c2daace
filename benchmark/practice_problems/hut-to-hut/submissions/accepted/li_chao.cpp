// A Li Chao tree over the positions, so that no product of two large numbers is needed.
#include <cstdio>
#include <utility>
#include <vector>

struct Line {
    long long slope, intercept;
    long long at(long long x) const { return slope * x + intercept; }
};

int main() {
    int n;
    if (std::scanf("%d", &n) != 1) return 1;
    std::vector<long long> position(n + 1, 0), price(n + 1, 0);
    for (int i = 1; i <= n; ++i) {
        if (std::scanf("%lld %lld", &position[i], &price[i]) != 2) return 1;
        position[i] += position[i - 1];
    }
    // Node v of the tree keeps a line that is best at the middle of its range of huts.
    std::vector<Line> tree(4 * (n + 1), Line{0, 0});  // the line of the trailhead everywhere
    long long cost = 0;
    for (int i = 1; i <= n; ++i) {
        long long best = 0;
        for (int v = 1, low = 0, high = n;;) {
            if (v == 1 || tree[v].at(position[i]) < best) best = tree[v].at(position[i]);
            if (low == high) break;
            int middle = (low + high) / 2;
            if (i <= middle)
                v = 2 * v, high = middle;
            else
                v = 2 * v + 1, low = middle + 1;
        }
        cost = price[i] + position[i] * position[i] + best;
        Line line{-2 * position[i], cost + position[i] * position[i]};
        for (int v = 1, low = 0, high = n;;) {
            int middle = (low + high) / 2;
            if (line.at(position[middle]) < tree[v].at(position[middle])) std::swap(line, tree[v]);
            if (low == high) break;
            if (line.at(position[low]) < tree[v].at(position[low]))
                v = 2 * v, high = middle;
            else
                v = 2 * v + 1, low = middle + 1;
        }
    }
    std::printf("%lld\n", cost);
    return 0;
}
