/** A control plane as those see it who use it: where it is, and credentials for whoever asks. In any process, whichever started it. */
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from './control-plane-api.ts';
import type { ControlPlaneBinaries } from './control-plane-binaries.ts';
import { CertificateAuthority, type CertificateFiles } from './control-plane-certificates.ts';
import type { ControlPlanePorts } from './control-plane-flags.ts';
import { writeKubeconfig } from './control-plane-kubeconfig.ts';

/** What another process needs to use a control plane that runs, beside the files of its folder. */
export interface SavedState {
  readonly ports: ControlPlanePorts;
  readonly binaries: ControlPlaneBinaries;
}

export class ControlPlaneAccess {
  readonly folder: string;
  /** `https://127.0.0.1:port`, the same for as long as the folder lives. */
  readonly url: string;
  /** Signs every certificate: of the API server, of its clients, of kubelets. */
  readonly authority: CertificateAuthority;
  /** cluster-admin's. */
  readonly adminKubeconfig: string;
  readonly adminCertificate: CertificateFiles;
  /** kubectl of the same version. */
  readonly kubectl: string;

  protected constructor(folder: string, { ports, binaries }: SavedState) {
    this.folder = folder;
    this.url = `https://127.0.0.1:${ports.apiServer}`;
    this.kubectl = binaries.kubectl;
    this.authority = new CertificateAuthority(join(folder, 'pki'), 'kubernetes');
    this.adminCertificate = this.clientCertificate('kubernetes-admin', ['system:masters']);
    this.adminKubeconfig = this.#kubeconfig('admin', 'kubernetes-admin', this.adminCertificate);
  }

  /** The control plane that was started in this folder, by whichever process. */
  static of(folder: string): ControlPlaneAccess {
    return new ControlPlaneAccess(folder, JSON.parse(readFileSync(stateFile(folder), 'utf8')) as SavedState);
  }

  /** For `tls.ca` of whoever calls the API server, and for a kubelet's `authentication.x509.clientCAFile`. */
  get caFile(): string {
    return this.authority.certFile;
  }

  /** A client of that user and groups; each user name once. */
  clientCertificate(user: string, groups: readonly string[] = []): CertificateFiles {
    return this.authority.issue(`client-${fileName(user)}`, { commonName: user, organizations: groups, usages: ['clientAuth'] });
  }

  /** The path of a kubeconfig for that user, with a client certificate in it. */
  userKubeconfig(user: string, groups: readonly string[] = []): string {
    return this.#kubeconfig(fileName(user), user, this.clientCertificate(user, groups));
  }

  /** The path of a kubelet's kubeconfig: `system:node:<name>` in `system:nodes`, as the Node authorizer wants it. */
  kubeletKubeconfig(nodeName: string): string {
    return this.userKubeconfig(`system:node:${nodeName}`, ['system:nodes']);
  }

  /** For a kubelet's `tlsCertFile` and `tlsPrivateKeyFile`: the API server only trusts what its authority signed. */
  kubeletServingCertificate(nodeName: string, ips: readonly string[] = hostAddresses()): CertificateFiles {
    const commonName = `system:node:${nodeName}`;
    const request = { commonName, organizations: ['system:nodes'], usages: ['serverAuth'], dnsNames: [nodeName], ips } as const;
    return this.authority.issue(`kubelet-${fileName(nodeName)}`, request);
  }

  /** A kubeconfig path for a bearer token, as of a service account. */
  tokenKubeconfig(name: string, token: string): string {
    return this.#kubeconfig(fileName(name), name, { token });
  }

  /** As cluster-admin, or as who the credentials say. Close it, or it keeps the process. */
  client(credentials: CertificateFiles | { readonly token: string } | 'anonymous' = this.adminCertificate): ApiClient {
    const { url, caFile } = this;
    if (credentials === 'anonymous') return new ApiClient({ url, caFile });
    return new ApiClient({ url, caFile, ...('token' in credentials ? credentials : { certificate: credentials }) });
  }

  /** One node's requests so far, oldest first. Each is here soon after it was answered, not before. */
  auditEvents(nodeName: string): AuditEvent[] {
    return (
      readFileSync(auditLog(this.folder), 'utf8')
        .split('\n')
        // The last may not be whole yet.
        .slice(0, -1)
        .filter((line) => line.includes(`"system:node:${nodeName}"`))
        .map((line) => JSON.parse(line) as AuditEvent)
    );
  }

  #kubeconfig(name: string, user: string, credentials: CertificateFiles | { readonly token: string }): string {
    const path = join(this.folder, `${name}.kubeconfig`);
    writeKubeconfig(path, { url: this.url, caFile: this.caFile, user, credentials });
    return path;
  }
}

/** As in audit.k8s.io/v1, what the log has of it. */
export interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code: number; readonly reason?: string };
  /** Of writes of pod status. */
  readonly requestObject?: unknown;
  readonly requestReceivedTimestamp: string;
  readonly userAgent: string;
}

export function stateFile(folder: string): string {
  return join(folder, 'control-plane.json');
}

export function auditLog(folder: string): string {
  return join(folder, 'audit.log');
}

/** Users have colons in their names, files should not. */
function fileName(user: string): string {
  return user.replaceAll(/[^A-Za-z0-9.-]/g, '_');
}

/** Every address at which this host may be called. */
export function hostAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).filter(({ scopeid }) => !scopeid).map(({ address }) => address),
  );
}
