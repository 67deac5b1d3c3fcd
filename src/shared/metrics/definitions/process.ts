/** Metrics of the process, with the names of every Prometheus client. The server thread sets them when it renders the page. */
import { gauge, total } from '../define.ts';

export const processCpuSeconds = total('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', [], 'none');
export const processResidentMemory = gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', [], 'none', 'max');
export const processVirtualMemory = gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', [], 'none', 'max');
export const processOpenFds = gauge('process_open_fds', 'Number of open file descriptors.', [], 'none', 'max');
export const processMaxFds = gauge('process_max_fds', 'Maximum number of open file descriptors.', [], 'none', 'max');
export const processStartTime = gauge(
  'process_start_time_seconds',
  'Start time of the process since unix epoch in seconds.',
  [],
  'none',
  'max',
);
export const processVirtualMemoryMax = gauge(
  'process_virtual_memory_max_bytes',
  'Maximum amount of virtual memory available in bytes.',
  [],
  'none',
  'max',
);
/** Received and sent: the counts of the process's network namespace. */
export const processNetworkReceived = total(
  'process_network_receive_bytes_total',
  'Number of bytes received by the process over the network.',
  [],
  'none',
);
export const processNetworkSent = total(
  'process_network_transmit_bytes_total',
  'Number of bytes sent by the process over the network.',
  [],
  'none',
);
