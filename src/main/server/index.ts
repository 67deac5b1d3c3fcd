/**
 * Main's side of the HTTP servers: their settings, and the answers that need main's state (pods, the container of a request). The server
 * thread (workers/server) and, for the healthz port, the health thread (workers/health) carry the bytes. The composition root calls this
 * part.
 */
export { PodFeed } from './pod-feed.ts';
export { startHealth } from './start-health.ts';
export { startServer, type ServerStart } from './start-server.ts';
