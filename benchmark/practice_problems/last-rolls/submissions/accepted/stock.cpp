#include <cstdio>
#include <vector>

int main() {
    int kinds, customers;
    if (std::scanf("%d %d", &kinds, &customers) != 2) return 1;
    std::vector<int> stock(kinds);
    for (int &rolls : stock)
        if (std::scanf("%d", &rolls) != 1) return 1;
    int left_with_nothing = 0;
    for (int i = 0; i < customers; ++i) {
        int kind, wanted;
        if (std::scanf("%d %d", &kind, &wanted) != 2) return 1;
        if (stock[kind - 1] >= wanted)
            stock[kind - 1] -= wanted;
        else
            ++left_with_nothing;
    }
    long long remaining = 0;
    for (int rolls : stock) remaining += rolls;
    std::printf("%d %lld\n", left_with_nothing, remaining);
    return 0;
}
