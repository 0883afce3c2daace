// The answer is the length of the longest strictly increasing subsequence, found here with a Fenwick tree
// of maxima over the waves.
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
    const int highest = 100000;
    int n;
    if (std::scanf("%d", &n) != 1) return 1;
    std::vector<int> longest(highest + 1, 0);
    int answer = 0;
    for (int i = 0; i < n; ++i) {
        int wave;
        if (std::scanf("%d", &wave) != 1) return 1;
        int length = 1;
        for (int j = wave - 1; j > 0; j -= j & -j) length = std::max(length, longest[j] + 1);
        for (int j = wave; j <= highest; j += j & -j) longest[j] = std::max(longest[j], length);
        answer = std::max(answer, length);
    }
    std::printf("%d\n", answer);
    return 0;
}
