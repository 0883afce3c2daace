#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <queue>
#include <vector>

int main() {
    int islands, count;
    if (std::scanf("%d %d", &islands, &count) != 2) return 1;
    std::vector<int> change(islands + 1);
    for (int i = 1; i <= islands; ++i)
        if (std::scanf("%d", &change[i]) != 1) return 1;
    // Each sailing as departure, arrival, start, goal, fare.
    std::vector<std::array<int, 5>> sailings(count);
    for (auto &s : sailings)
        if (std::scanf("%d %d %d %d %d", &s[2], &s[3], &s[0], &s[1], &s[4]) != 5) return 1;
    std::sort(sailings.begin(), sailings.end());
    const int unknown = 1000000000;
    std::vector<int> best(islands + 1, unknown);
    best[1] = 0;
    int answer = unknown;
    using Arrival = std::array<int, 3>;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<Arrival>> coming;
    for (const auto &[leaves, arrives, start, goal, fare] : sailings) {
        while (!coming.empty() && coming.top()[0] <= leaves) {
            int island = coming.top()[1];
            best[island] = std::min(best[island], coming.top()[2]);
            coming.pop();
        }
        if (best[start] == unknown) continue;
        int cost = best[start] + fare;
        if (goal == islands) answer = std::min(answer, cost);
        coming.push({arrives + change[goal], goal, cost});
    }
    if (answer == unknown)
        std::puts("impossible");
    else
        std::printf("%d\n", answer);
    return 0;
}
