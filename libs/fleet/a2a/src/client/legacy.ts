import { FleetError, isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** The A2A 0.3 methods by their names in A2A 1.0, for agents that speak 0.3 only. */
const METHODS: Readonly<Record<string, string>> = {
  SendMessage: 'message/send',
  SendStreamingMessage: 'message/stream',
  GetTask: 'tasks/get',
  CancelTask: 'tasks/cancel',
  SubscribeToTask: 'tasks/resubscribe',
};

/** Converts a call of A2A 1.0 to 0.3; throws PEER_REFUSED for a method that 0.3 lacks. */
export function toLegacyCall(peer: string, method: string, params: JsonObject) {
  const legacy = METHODS[method];
  if (legacy === undefined)
    throw new FleetError('PEER_REFUSED', `peer "${peer}" speaks A2A 0.3, which has no ${method}`);
  const { message, configuration, ...rest } = params;
  if (!isJsonObject(message)) return { method: legacy, params: rest };
  const { parts, ...fields } = message;
  const blocking = !isJsonObject(configuration) || configuration.returnImmediately !== true;
  return {
    method: legacy,
    params: {
      ...rest,
      message: { ...fields, kind: 'message', role: 'user', parts: listOf(parts).map(toLegacyPart) },
      configuration: { blocking },
    },
  };
}

/** Converts a result or stream event of A2A 0.3 to 1.0. Anything else is returned unchanged: the schema rejects it. */
export function fromLegacyResult(method: string, result: unknown): unknown {
  if (!isJsonObject(result)) return result;
  if (method === 'GetTask' || method === 'CancelTask') return fromLegacyTask(result);
  switch (result.kind) {
    case 'task':
      return { task: fromLegacyTask(result) };
    case 'message':
      return { message: withCurrentParts(result) };
    case 'status-update':
      return { statusUpdate: { ...result, status: fromLegacyStatus(result.status) } };
    case 'artifact-update':
      return { artifactUpdate: { ...result, artifact: withCurrentParts(result.artifact) } };
    default:
      return result;
  }
}

/** Converts an agent card of A2A 0.3 to 1.0. */
export function fromLegacyCard(card: JsonObject): Readonly<Record<string, unknown>> {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces, capabilities } = card;
  const preferred = { url, transport: preferredTransport };
  const listed = [preferred, ...listOf(additionalInterfaces).filter(isJsonObject)];
  return {
    name: card.name,
    description: card.description ?? '',
    version: card.version ?? '',
    capabilities: { streaming: isJsonObject(capabilities) && capabilities.streaming === true },
    skills: listOf(card.skills),
    supportedInterfaces: listed.map(({ url, transport }) => ({
      url,
      protocolBinding: transport,
      protocolVersion: '0.3',
    })),
  };
}

function toLegacyPart(part: JsonValue): JsonValue {
  if (!isJsonObject(part)) return part;
  const { data, text, raw, url, filename, mediaType, metadata } = part;
  const shared: JsonObject = metadata === undefined ? {} : { metadata };
  if (raw === undefined && url === undefined)
    return data === undefined
      ? { kind: 'text', text: text ?? '', ...shared }
      : { kind: 'data', data: isJsonObject(data) ? data : { value: data }, ...shared };
  const file: JsonObject = {
    ...(raw === undefined ? { uri: url ?? '' } : { bytes: raw }),
    ...(filename === undefined ? {} : { name: filename }),
    ...(mediaType === undefined ? {} : { mimeType: mediaType }),
  };
  return { kind: 'file', file, ...shared };
}

function fromLegacyTask(task: JsonObject): JsonObject {
  return {
    ...task,
    status: fromLegacyStatus(task.status),
    artifacts: listOf(task.artifacts).map(withCurrentParts),
    history: listOf(task.history).map(withCurrentParts),
  };
}

function fromLegacyStatus(status: JsonValue | undefined): JsonValue {
  if (!isJsonObject(status)) return status ?? null;
  const { state, message } = status;
  return {
    ...status,
    state: typeof state === 'string' ? state.replaceAll('-', '_') : (state ?? null),
    ...(message === undefined ? {} : { message: withCurrentParts(message) }),
  };
}

/** A message or an artifact. */
function withCurrentParts(holder: JsonValue | undefined): JsonValue {
  if (!isJsonObject(holder)) return holder ?? null;
  return { ...holder, parts: listOf(holder.parts).map(fromLegacyPart) };
}

function fromLegacyPart(part: JsonValue): JsonValue {
  if (!isJsonObject(part) || !isJsonObject(part.file)) return part;
  const { bytes, uri, name, mimeType } = part.file;
  return {
    ...(bytes === undefined ? {} : { raw: bytes }),
    ...(uri === undefined ? {} : { url: uri }),
    ...(name === undefined ? {} : { filename: name }),
    ...(mimeType === undefined ? {} : { mediaType: mimeType }),
  };
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
