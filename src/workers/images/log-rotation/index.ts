/**
 * Rotation of container logs (upstream pkg/kubelet/logs): a log that has reached containerLogMaxSize gets the name of a rotated log, the
 * runtime opens a new file, and of the rotated logs at most containerLogMaxFiles − 1 stay, compressed except for the newest. Owns the names
 * of rotated logs in the containers' log folders; the server thread reads them for followers. The entry of the images thread starts it and
 * sets its policy; the runtime snapshot shows which containers run.
 */
export { LogRotation } from './log-rotation.ts';
export { ContainerLogManager, type ContainerLogManagerOptions } from './container-log-manager.ts';
