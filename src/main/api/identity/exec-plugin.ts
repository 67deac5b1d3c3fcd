/**
 * Credentials of an exec plugin (upstream client-go/plugin/pkg/client/auth/exec). Runs the plugin when there are no credentials, when they
 * have expired and when the server rejected them. Concurrent callers share one run.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { execPluginCalls, execPluginCertificateRotationAge, execPluginTTL } from '../../../shared/metrics/definitions/rest-client.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { ExecPluginConfig } from '../kubeconfig/kubeconfig.ts';
import { parseExecCredential, type ExecCredential } from './exec-credential.ts';
import type { ClientCertificate } from './identity.ts';
import type { PluginCommand, PluginExit } from '../../../shared/linux/run-plugin.ts';
import { untilAborted } from '../../../shared/concurrency/until-aborted.ts';

/** After a failed run, or one with rejected credentials, callers get the same result for this long, instead of one process per call. */
const minRunIntervalMs = 5_000;

export interface ExecPluginOptions {
  readonly plugin: ExecPluginConfig;
  /** Returns the value of KUBERNETES_EXEC_INFO. */
  readonly info: () => Promise<string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly run: (command: PluginCommand, signal: AbortSignal) => Promise<PluginExit>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ExecPlugin {
  readonly #options: ExecPluginOptions;
  readonly #stop = new AbortController();
  #credential: ExecCredential | null = null;
  #failure: Error | null = null;
  #ranAtMs = -Infinity;
  #running: Promise<void> | null = null;
  #isRefused = false;

  constructor(options: ExecPluginOptions) {
    this.#options = options;
  }

  async current(signal: AbortSignal): Promise<ExecCredential> {
    const { clock } = this.#options;
    if (!this.#credential || this.#isRefused || this.#hasExpired(this.#credential)) {
      const ranRecently = clock.monotonic() < this.#ranAtMs + minRunIntervalMs;
      if (this.#running || !ranRecently) await untilAborted((this.#running ??= this.#run()), signal);
    }
    if (!this.#credential) throw this.#failure ?? new Error('exec plugin has no credentials');
    // A server may reject valid credentials for a moment while the plugin fails, so they stay in use until they expire.
    if (this.#failure && this.#hasExpired(this.#credential)) throw this.#failure;
    this.#updateTTLMetric(this.#credential);
    return this.#credential;
  }

  /** Called when the server rejected the credentials: makes the next use run the plugin if it last ran before `sentAtMs` (monotonic). */
  invalidateBefore(sentAtMs: number): void {
    if (this.#ranAtMs < sentAtMs) this.#isRefused = true;
  }

  close(): void {
    this.#stop.abort();
  }

  #hasExpired({ expiresAtMs }: ExecCredential): boolean {
    return expiresAtMs !== undefined && this.#options.clock.now() > expiresAtMs;
  }

  async #run(): Promise<void> {
    const { plugin, clock, logger } = this.#options;
    try {
      const credential = parseExecCredential(await this.#stdout(), plugin.apiVersion);
      const previous = this.#credential;
      this.#credential = { ...credential, clientCertificate: sameOrNew(previous?.clientCertificate, credential.clientCertificate) };
      if (previous?.certificateTimes && this.#credential.clientCertificate !== previous.clientCertificate) {
        execPluginCertificateRotationAge.observe((clock.now() - previous.certificateTimes.notBefore) / 1000);
      }
      this.#failure = null;
      this.#isRefused = false;
    } catch (err) {
      this.#failure = new Error(`getting credentials: ${messageOf(err)}`, { cause: err });
      logger.error({ err: messageOf(err), command: plugin.command }, 'Exec plugin returned no credentials');
    } finally {
      this.#ranAtMs = clock.monotonic();
      this.#running = null;
    }
  }

  async #stdout(): Promise<string> {
    const { plugin, info, environment, run } = this.#options;
    const env = { ...environment, ...plugin.env, KUBERNETES_EXEC_INFO: await info() };
    const exit = await run({ command: plugin.command, args: plugin.args, env }, this.#stop.signal);
    if (exit.result === 'not found') {
      execPluginCalls.inc({ code: '1', call_status: 'plugin_not_found_error' });
      const installHint = plugin.installHint === '' ? '' : ` (${toSingleLine(plugin.installHint)})`;
      throw new Error(`exec: executable ${plugin.command} not found${installHint}`);
    }
    if (exit.result === 'failed') {
      execPluginCalls.inc({ code: '1', call_status: 'client_internal_error' });
      throw new Error(`exec: executable ${plugin.command} ${exit.message}`);
    }
    if (exit.code !== 0) {
      execPluginCalls.inc({ code: String(exit.code), call_status: 'plugin_execution_error' });
      const stderr = toSingleLine(exit.stderr).trim();
      throw new Error(`exec: executable ${plugin.command} failed with exit code ${exit.code}${stderr === '' ? '' : `: ${stderr}`}`);
    }
    execPluginCalls.inc({ code: '0', call_status: 'no_error' });
    return exit.stdout;
  }

  #updateTTLMetric({ certificateTimes }: ExecCredential): void {
    execPluginTTL.set(certificateTimes ? (certificateTimes.notAfter - this.#options.clock.now()) / 1000 : Infinity);
  }
}

/** Returns the old object if the certificate is unchanged, so that its connections are reused. */
function sameOrNew(old: ClientCertificate | undefined, next: ClientCertificate | undefined): ClientCertificate | undefined {
  return old && next && old.cert === next.cert && old.key === next.key ? old : next;
}

/** Replaces line breaks and control characters, which a terminal would interpret. */
function toSingleLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ');
}
