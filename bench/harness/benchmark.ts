/**
 * The interface of a benchmark and its results. Each value is reported with a floor (the same machine without a kubelet) and a peer (the Go
 * kubelet of the same version), measured in the same run.
 */
export interface Benchmark {
  /** The argument of `npm run bench` that runs it alone, and the name of its JSON. */
  readonly name: string;
  /** What is measured, and how. */
  readonly about: string;
  /** `root`: a real containerd, which needs root and Debian's packages; `none`: runs anywhere. */
  readonly needs: 'root' | 'none';
  run(context: BenchContext): Promise<BenchOutcome>;
}

export interface BenchContext {
  /** Prints one line of progress. */
  readonly progress: (line: string) => void;
  /** Registers a cleanup that runs after the benchmark, also after a failure. Cleanups run in reverse order. */
  readonly onEnd: (action: () => Promise<void>) => void;
}

export interface BenchOutcome {
  /** Number of repetitions: "300 relists", "3 bursts of 100 pods". */
  readonly repeats: string;
  readonly measurements: readonly Measurement[];
}

export interface Measurement {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly floor?: { readonly what: string; readonly value: number };
  /** The Go kubelet's value. */
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
  /** The commit. */
  readonly kubelet: string;
  /** The version of the Go kubelet and of the control plane: `v1.37.2`. */
  readonly kubernetes: string;
  /** Load average of the minute before the benchmark, which includes the previous benchmark's load. */
  readonly loadBefore: number;
}
