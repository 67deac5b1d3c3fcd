/**
 * Serves the pods' timelines from shared memory: as `/debug/timeline` of the authenticated server, and to root on this node through a local socket,
 * for the command `kubelet timeline`. Main is not asked. Created by the server thread's entry.
 */
export { LocalSocket } from './local-socket.ts';
export { createTimelineHandler, replyTimeline } from './reply-timeline.ts';
