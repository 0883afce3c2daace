// Sorts the prefix values instead of hashing them: equal ones end up side by side.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

int main() {
    int n;
    if (std::scanf("%d", &n) != 1) return 1;
    std::string line(n + 1, '\0');
    if (std::scanf("%100000s", &line[0]) != 1) return 1;
    line.resize(n);
    std::vector<std::pair<int, int>> prefixes{{0, 0}};
    for (char voice : line) {
        std::pair<int, int> value = prefixes.back();
        if (voice == 'S') ++value.first;
        if (voice == 'A') --value.first;
        if (voice == 'T') ++value.second;
        if (voice == 'B') --value.second;
        prefixes.push_back(value);
    }
    std::sort(prefixes.begin(), prefixes.end());
    long long pictures = 0, equal_before = 0;
    for (size_t i = 1; i < prefixes.size(); ++i) {
        equal_before = prefixes[i] == prefixes[i - 1] ? equal_before + 1 : 0;
        pictures += equal_before;
    }
    std::printf("%lld\n", pictures);
    return 0;
}
