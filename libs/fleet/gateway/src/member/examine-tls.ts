import { type A2AClient, connectionFault } from '@hermes-fleet/a2a';
import { type FleetConfig, listenerUrl } from '@hermes-fleet/fleet-config';
import { namesOf, parseCertificates } from '@hermes-fleet/net/tls';
import type { Finding } from '../doctor/finding.ts';
import type { MemberTls, TlsUse } from './certificates.ts';

const ANSWER_MS = 3_000;
const DAY_MS = 86_400_000;

export interface ExamineTlsOptions {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly tls: MemberTls;
  /** Trusts what this member trusts, and shows its client certificate. */
  readonly client: Pick<A2AClient, 'fetch'>;
}

/**
 * Says for whom and until when the member's certificates are, and asks its own listener as a peer with the same trusted
 * issuers does. It cannot see what other machines trust: `fleet doctor` there does.
 */
export async function examineTls(options: ExamineTlsOptions): Promise<readonly Finding[]> {
  const uses = Object.keys(options.tls) as TlsUse[];
  const own = uses.flatMap((use) => examineCertificate(use, options.tls));
  return [...own, ...(await examineOwnListener(options))];
}

function examineCertificate(use: TlsUse, tls: MemberTls): Finding[] {
  const [certificate] = parseCertificates(tls[use]?.current().cert ?? '');
  if (certificate === undefined) return [];
  const days = Math.floor((certificate.validToDate.getTime() - Date.now()) / DAY_MS);
  const detail = `for ${namesOf(certificate)}, valid for ${days} more days`;
  return [{ subject: 'certificates', check: use, state: 'ok', detail }];
}

async function examineOwnListener({ profile, config, client }: ExamineTlsOptions): Promise<Finding[]> {
  const { server } = config.fleet;
  if (!server?.tls) return [];
  const any = ['0.0.0.0', '::'].includes(server.bind_host);
  const address = server.public_url ?? listenerUrl(server, any ? 'localhost' : server.bind_host);
  const { origin } = new URL(address);
  const found = { subject: 'certificates', check: 'own address' } as const;
  try {
    const answer = await client.fetch(`${origin}/health`, { signal: AbortSignal.timeout(ANSWER_MS) });
    await answer.body?.cancel();
    return [{ ...found, state: 'ok', detail: `${origin} is trusted by peers that trust the same issuers` }];
  } catch (error) {
    const fault = connectionFault(error);
    if (fault === undefined)
      return [
        { ...found, state: 'skipped', detail: `not tried: nothing answers at ${origin}: start ${profile}` },
      ];
    return [{ ...found, state: 'failed', detail: `${origin}: ${fault.what}`, fix: fault.remedy }];
  }
}
