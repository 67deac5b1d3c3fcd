/**
 * What a benchmark is, and what it says. Each number stands beside its floor, what the same machine does without a kubelet, and its peer,
 * what the Go kubelet of the same version does on it, both in the same run.
 */
export interface Benchmark {
  /** The argument of `npm run bench` that runs it alone, and the name of its JSON. */
  readonly name: string;
  /** One sentence: what is measured on what. */
  readonly about: string;
  /** `root`: a real containerd, which needs root and Debian's packages; `none`: runs anywhere. */
  readonly needs: 'root' | 'none';
  run(context: BenchContext): Promise<BenchOutcome>;
}

export interface BenchContext {
  /** One line of progress for the person who waits. */
  readonly progress: (line: string) => void;
  /** Runs when the benchmark is over, however it ended; the last one given first. */
  readonly onEnd: (action: () => Promise<void>) => void;
}

export interface BenchOutcome {
  /** How often what was done: "300 relists", "3 bursts of 100 pods". */
  readonly repeats: string;
  readonly measurements: readonly Measurement[];
}

export interface Measurement {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly floor?: { readonly what: string; readonly value: number };
  /** The same of the Go kubelet. */
  readonly peer?: number;
  readonly goal?: { readonly text: string; readonly met: boolean };
}

/** One benchmark's JSON in bench/results/. */
export interface BenchRecord {
  readonly name: string;
  readonly about: string;
  readonly at: string;
  readonly host: HostFacts;
  readonly outcome: BenchOutcome | { readonly failed: string };
}

export interface HostFacts {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly os: string;
  readonly node: string;
  readonly kubelet: string;
  /** Of the last minute, before the benchmark began; its own predecessor's too. */
  readonly loadBefore: number;
}
