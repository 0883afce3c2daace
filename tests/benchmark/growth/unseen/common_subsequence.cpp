// n^2: the longest common subsequence of the numbers and their reverse.
#include <algorithm>
#include <cstdio>
#include <vector>
int main() {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    std::vector<int> a(n);
    for (int& x : a) if (scanf("%d", &x) != 1) return 1;
    std::vector<int> b(a.rbegin(), a.rend()), best(n + 1, 0);
    for (int i = 0; i < n; i++) {
        int diagonal = 0;
        for (int j = 1; j <= n; j++) {
            int above = best[j];
            best[j] = a[i] == b[j - 1] ? diagonal + 1 : std::max(best[j], best[j - 1]);
            diagonal = above;
        }
    }
    printf("%d\n", best[n]);
}
