#include <cstdio>
#include <utility>
#include <vector>

int main() {
    int n, q;
    if (std::scanf("%d %d", &n, &q) != 2) return 1;
    std::vector<int> species(n + 1), previous(n + 1, 0), last(20001, 0);
    for (int i = 1; i <= n; ++i) {
        if (std::scanf("%d", &species[i]) != 1) return 1;
        previous[i] = last[species[i]];
        last[species[i]] = i;
    }
    std::vector<std::vector<std::pair<int, int>>> ending_at(n + 1);
    for (int i = 0; i < q; ++i) {
        int left, right;
        if (std::scanf("%d %d", &left, &right) != 2) return 1;
        ending_at[right].push_back({left, i});
    }
    std::vector<int> tree(n + 1, 0), answers(q);
    auto change = [&](int position, int by) {
        if (position == 0) return;
        for (; position <= n; position += position & -position) tree[position] += by;
    };
    auto count = [&](int position) {
        int marks = 0;
        for (; position > 0; position -= position & -position) marks += tree[position];
        return marks;
    };
    for (int right = 1; right <= n; ++right) {
        change(previous[right], 1);
        change(previous[previous[right]], -1);
        for (auto [left, number] : ending_at[right]) answers[number] = count(right) - count(left - 1);
    }
    for (int answer : answers) std::printf("%d\n", answer);
    return 0;
}
