/** The options of the test driver, as one JSON argument of its process. */
export interface CsiDriverOptions {
  readonly name: string;
  readonly nodeID: string;
  /** The socket of the CSI services. */
  readonly socket: string;
  /** The socket in the kubelet's registration folder. */
  readonly registrationSocket: string;
  /** Has the journal, the faults, and a folder for each volume's files. */
  readonly stateDir: string;
  /** Names of NodeServiceCapability.RPC. Default: STAGE_UNSTAGE_VOLUME. */
  readonly capabilities?: readonly string[];
  readonly maxVolumesPerNode?: number;
  readonly topology?: Readonly<Record<string, string>>;
  readonly versions?: readonly string[];
}

/** A line of the journal: one call. */
export interface JournalEntry {
  readonly method: string;
  readonly volumeID?: string;
  readonly stagingTargetPath?: string;
  readonly targetPath?: string;
  /** The whole request. */
  readonly request: unknown;
  /** Epoch milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  /** The gRPC code; 0 is success. */
  readonly code: number;
}

/** What a call of a method does instead of succeeding; read at each call. */
export interface Fault {
  /** The gRPC code's name, such as INTERNAL. */
  readonly code?: string;
  readonly message?: string;
  readonly delayMs?: number;
  /** The call never ends. */
  readonly hang?: boolean;
  /** How many calls have it. Default: all. */
  readonly times?: number;
  /** `done`: the work is done nevertheless. Default: `none`. */
  readonly effect?: 'done' | 'none';
}

/** What the driver reports as unhealthy; read at each call. Nothing: healthy. */
export interface Health {
  /** By volume handle. */
  readonly volumes?: Readonly<Record<string, readonly HealthEntry[]>>;
  readonly storage?: readonly HealthEntry[];
}

export interface HealthEntry {
  /** The name of CSI's error type, such as INACCESSIBLE or STORAGE_DEGRADED. */
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
}

export type Faults = Readonly<Record<string, Fault>>;
