/** The kubelet's gRPC services, each on a Unix socket that only root can open. Their handlers are loaded with the first call. */
import type { MainApi } from '../../shared/contracts/server/calls.ts';
import type { ServerWorkerData } from '../../shared/contracts/server/settings.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { GrpcServer, type Methods } from './grpc/index.ts';

export class GrpcServices {
  readonly #servers: readonly GrpcServer[];

  constructor({ pods, podResources }: ServerWorkerData['grpcSockets'], main: MainApi, logger: Logger) {
    const open = (name: string, socketPath: string, load: () => Promise<Methods>) => {
      let methods: Promise<Methods> | null = null;
      return new GrpcServer({ name, socketPath, methods: () => (methods ??= load()), logger });
    };
    this.#servers = [
      open('podresources API', podResources, async () => {
        const { podResourcesMethods } = await import('./pod-resources/pod-resources-methods.ts');
        return podResourcesMethods(main);
      }),
      ...(pods === null
        ? []
        : [
            open('pods API', pods, async () => {
              const { PodMirror, podsMethods } = await import('./pods-api/index.ts');
              return podsMethods(new PodMirror({ changes: (cursor) => main.podChanges(cursor), logger }));
            }),
          ]),
    ];
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
