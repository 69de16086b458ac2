import { connectionFault } from '@hermes-fleet/a2a/client';
import { FleetError, isJsonObject, type JsonObject, networkFault } from '@hermes-fleet/protocol';
import { type Endpoint, readJson, refusal, request } from '../client/http.ts';

const CALL_MS = 30_000;

/** Calls the routes by which workers join and leave. */
export interface OrchestratorClient {
  /**
   * Throws PEER_UNREACHABLE that names the network fault, UNAUTHENTICATED with the reason of the orchestrator, or PEER_REFUSED
   * with its message.
   */
  call(path: string, token: string, body?: JsonObject): Promise<JsonObject>;
}

export function orchestratorAt(url: string): OrchestratorClient {
  const endpoint: Endpoint = { name: new URL(url).host, url };
  return {
    async call(path, token, body) {
      let response: Response;
      try {
        response = await request(endpoint, path, {
          method: body === undefined ? 'GET' : 'POST',
          headers: {
            accept: 'application/json',
            authorization: `Bearer ${token}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(CALL_MS),
        });
      } catch (thrown) {
        const { cause = thrown } = FleetError.from(thrown);
        if (connectionFault(thrown)) throw thrown;
        const message = `${url} does not answer: ${networkFault(cause, CALL_MS)}`;
        throw new FleetError('PEER_UNREACHABLE', message, { cause: thrown });
      }
      const answer = await readJson(endpoint, response);
      if (response.ok && isJsonObject(answer)) return answer;
      if (response.status >= 300 && response.status < 400)
        throw new FleetError(
          'PEER_REFUSED',
          `${url} redirects to ${response.headers.get('location')}: use that address`,
        );
      const error = isJsonObject(answer) && isJsonObject(answer.error) ? answer.error : {};
      if (response.status === 401 && typeof error.message === 'string')
        throw new FleetError('UNAUTHENTICATED', error.message);
      if (response.status === 404 && error.code === 'NOT_FOUND' && path.startsWith('/fleet/join'))
        throw new FleetError(
          'PEER_REFUSED',
          `${url} is no orchestrator that workers can join (fleet.orchestrate)`,
        );
      throw refusal(endpoint, response.status, answer);
    },
  };
}
