/** The sizes of benchmarks that the environment can reduce. */

/** `BENCH_SMALLEST=1` only shows that a benchmark works. */
export const isSmallest: boolean = process.env['BENCH_SMALLEST'] === '1';

/** The number of pods on a full node. `BENCH_PODS=100` is for a host that carries less; the table names the number. */
export function podsOfFullNode(normal: number): number {
  return isSmallest ? 4 : Number(process.env['BENCH_PODS'] ?? normal);
}
