import { TaskState, taskStateFromJSON } from '@a2a-js/sdk';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';

/**
 * The parameters of every A2A method. They are validated strictly here because the SDK's codec coerces instead. As in
 * ProtoJSON, snake_case names are accepted beside camelCase, null means unset, and unknown fields are kept.
 */
const MAX_ID = 256;
const id = z.string().min(1).max(MAX_ID);
const optionalId = z.string().max(MAX_ID).optional();
const metadata = z.record(z.string(), z.unknown()).optional();
const historyLength = z.int().nonnegative().optional();
const strings = z.array(z.string()).optional();
const MAX_MODES = 64;
/** The number is checked before the items, so that a long list of wrong items is one error. */
const outputModes = z
  .array(z.unknown())
  .max(MAX_MODES, `has more than ${MAX_MODES} media types; name ranges, such as "image/*"`)
  .pipe(z.array(z.string().max(MAX_ID, `is longer than ${MAX_ID} characters`)))
  .optional();
/** Only the tenant of the card may be asked for (A2A 1.0, section 8.3.2), and the card names none. */
const tenant = z.literal('', 'is not known here; leave it out').optional();

const toSnake = (camel: string): string => camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function proto<S extends z.core.$ZodLooseShape>(shape: S) {
  const names = Object.keys(shape).filter((camel) => toSnake(camel) !== camel);
  const camelOf = new Map(names.map((camel) => [toSnake(camel), camel]));
  const isRenamed = (value: JsonObject): boolean => {
    for (const key of Object.keys(value)) if (value[key] === null || camelOf.has(key)) return true;
    return false;
  };
  const rename = (value: unknown): unknown => {
    if (!isJsonObject(value)) return value;
    if (!isRenamed(value)) return value;
    const set = Object.entries(value).filter(([, item]) => item !== null);
    return Object.fromEntries(set.map(([key, item]) => [camelOf.get(key) ?? key, item]));
  };
  return z.preprocess(rename, z.looseObject(shape));
}

const CONTENTS = ['text', 'raw', 'url', 'data'] as const;

function hasOneContent(value: Readonly<Record<string, unknown>>): boolean {
  let count = 0;
  for (const name of CONTENTS) if (value[name] !== undefined) count += 1;
  return count === 1;
}

const part = proto({
  text: z.string().optional(),
  raw: z.string().optional(),
  url: z.string().optional(),
  data: z.unknown().optional(),
  mediaType: z.string().max(MAX_ID).optional(),
  filename: z.string().optional(),
  metadata,
}).refine(hasOneContent, {
  message: 'must have exactly one of text, raw, url, data',
});

/** The fields of a message that both versions have. */
const messageFields = {
  messageId: id,
  contextId: optionalId,
  taskId: optionalId,
  metadata,
  extensions: strings,
  referenceTaskIds: strings,
};

const message = proto({
  ...messageFields,
  role: z.literal(['ROLE_USER', 'ROLE_AGENT', 1, 2], 'must be "ROLE_USER"'),
  parts: z.array(part).min(1, 'must have at least one part'),
});

const state = z
  .union([z.string(), z.int()])
  .refine((value) => taskStateFromJSON(value) !== TaskState.UNRECOGNIZED, 'is not a task state of A2A')
  .optional();

/** The value of a header, or a part of it. */
const headerText = z
  .string()
  .max(4_096)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII, because a header carries it');
const scheme = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]{1,64}$/, 'must be the name of an HTTP authentication scheme, such as "Bearer"');
const credentials = z
  .string('is required: there is no other way to learn them')
  .min(1, 'is required: there is no other way to learn them')
  .pipe(headerText);
const pushUrl = z.string('is required: the address that gets the notifications').min(1).max(2_048);

const pushConfig = {
  tenant,
  id: optionalId,
  taskId: optionalId,
  url: pushUrl,
  token: headerText.optional(),
  authentication: proto({ scheme, credentials }).optional(),
};

export const PushCreateParams = proto({ ...pushConfig, taskId: id });
/** Get and delete. */
export const PushConfigParams = proto({ tenant, taskId: id, id });
export const PushListParams = proto({
  tenant,
  taskId: id,
  pageSize: z.int().min(0).optional(),
  pageToken: z.string().max(2048).optional(),
});

export const SendParams = proto({
  tenant,
  message,
  configuration: proto({
    acceptedOutputModes: outputModes,
    taskPushNotificationConfig: proto(pushConfig).optional(),
    historyLength,
    returnImmediately: z.boolean().optional(),
  }).optional(),
  metadata,
});

export const TaskParams = proto({ tenant, id, historyLength, metadata });

export const ListParams = proto({
  tenant,
  contextId: optionalId,
  status: state,
  pageSize: z.int().min(1).max(100).optional(),
  pageToken: z.string().max(2048).optional(),
  historyLength,
  statusTimestampAfter: z.iso.datetime({ offset: true }).optional(),
  includeArtifacts: z.boolean().optional(),
});

export const AnyParams = proto({ tenant });

const legacyPart = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('text'), text: z.string(), metadata }),
  z.looseObject({ kind: z.literal('data'), data: z.record(z.string(), z.unknown()), metadata }),
  z.looseObject({
    kind: z.literal('file'),
    file: z
      .looseObject({ bytes: z.string().optional(), uri: z.string().optional() })
      .refine(({ bytes, uri }) => (bytes === undefined) !== (uri === undefined), {
        message: 'must have exactly one of bytes, uri',
      }),
    metadata,
  }),
]);

const legacyPushConfig = z.looseObject({
  id: optionalId,
  url: pushUrl,
  token: headerText.optional(),
  authentication: z
    .looseObject({
      schemes: z.array(scheme).length(1, 'must be the one scheme of the credentials'),
      credentials,
    })
    .optional(),
});

/** `tasks/pushNotificationConfig/set` of A2A 0.3. */
export const LegacyPushCreateParams = z.looseObject({ taskId: id, pushNotificationConfig: legacyPushConfig });
/** `tasks/pushNotificationConfig/get`: without an id of a config, it asks for the first one of the task. */
export const LegacyPushGetParams = z.looseObject({ id, pushNotificationConfigId: optionalId });
export const LegacyPushConfigParams = z.looseObject({ id, pushNotificationConfigId: id });

/** `message/send` and `message/stream` of A2A 0.3. */
export const LegacySendParams = z.looseObject({
  message: z.looseObject({
    ...messageFields,
    role: z.enum(['user', 'agent']),
    parts: z.array(legacyPart).min(1, 'must have at least one part'),
  }),
  configuration: z
    .looseObject({
      acceptedOutputModes: outputModes,
      blocking: z.boolean().optional(),
      historyLength,
      pushNotificationConfig: legacyPushConfig.optional(),
    })
    .optional(),
  metadata,
});

/** `tasks/get`, `tasks/cancel`, `tasks/resubscribe` and `tasks/pushNotificationConfig/list` of A2A 0.3. */
export const LegacyTaskParams = z.looseObject({ id, historyLength, metadata });
