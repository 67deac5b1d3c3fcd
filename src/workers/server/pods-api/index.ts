/**
 * The pods API: lists the pods of the node, returns one, and streams their changes (upstream pkg/kubelet/apis/pods). Owns a mirror of main's
 * pods while there are clients. Loaded with the first call to its socket.
 */
export { PodMirror } from './pod-mirror.ts';
export { podsMethods } from './pods-methods.ts';
