/**
 * Reads the new records of /dev/kmsg. A blocking read would occupy one of the process' few file threads forever, so the reads do not block, and the caller
 * reads with each sample of usage.
 */
import { closeSync, constants, openSync, readSync } from 'node:fs';

/** The kernel's limit of a record (PRINTK_MESSAGE_MAX, CONSOLE_EXT_LOG_MAX). */
const maxRecordBytes = 8192;
/** As many records as a ring buffer of some megabytes holds. Without a limit, a kernel that logs without end would hold this thread. */
const maxRecordsPerRead = 50_000;

export class KernelLog {
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(maxRecordBytes);

  /** Skips the records so far: an earlier thread or kubelet has reported them, or they are older than the kubelet. Throws when the log cannot be opened. */
  constructor(path = '/dev/kmsg') {
    this.#fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const skip = () => {};
    this.read(skip, skip);
  }

  /** Calls back for each record since the last call, and for records that the kernel has overwritten before they were read. */
  read(onRecord: (record: string) => void, onLoss: () => void): void {
    for (let count = 0; count < maxRecordsPerRead; count += 1) {
      const length = this.#readRecord();
      if (length === 0) return;
      if (length > 0) onRecord(this.#buffer.toString('utf8', 0, length));
      else onLoss();
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Returns the record's length; 0 at the end of the log; -1 when the kernel has overwritten records, after which the next read continues. */
  #readRecord(): number {
    try {
      return readSync(this.#fd, this.#buffer, 0, maxRecordBytes, null);
    } catch (err) {
      const { code } = err as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return 0;
      if (code === 'EPIPE') return -1;
      throw err;
    }
  }
}
