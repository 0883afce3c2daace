// The C++ program whose CPU time measures the machine: a random sequence, a sort, scattered reads, divisions.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

static std::uint64_t state = 88172645463325252ULL;

static std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

int main() {
    std::uint64_t sum = 0;
    std::vector<std::uint32_t> values(400000);
    for (auto& value : values) value = static_cast<std::uint32_t>(next());
    std::sort(values.begin(), values.end());
    std::vector<std::uint32_t> counts(1 << 20);
    for (std::size_t i = 0; i < 1500000; ++i) sum += ++counts[next() % counts.size()] + values[i % values.size()];
    double harmonic = 0;
    for (int i = 1; i < 5000000; ++i) harmonic += 1.0 / i;
    std::printf("%llu %.6f\n", static_cast<unsigned long long>(sum), harmonic);
}
