/**
 * Serves the pods' timelines from shared memory: as `/debug/timeline` of the authenticated server, and through the local socket to the command
 * `kubelet timeline`. Main is not asked. Created by the server thread's entry.
 */
export { createTimelineHandler, replyTimeline } from './reply-timeline.ts';
