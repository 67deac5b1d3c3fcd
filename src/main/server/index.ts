/**
 * Main's side of what is served: which servers there are and how they are set up, and the answers to what only main knows (pods, which
 * container is meant). The bytes are the server thread's (workers/server) and, of the
 * healthz port, the health thread's (workers/health). Called by the composition root.
 */
export { startHealth } from './start-health.ts';
export { startServer, type ServerStart } from './start-server.ts';
