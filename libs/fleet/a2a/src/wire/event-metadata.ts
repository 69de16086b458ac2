/** The metadata key of an update that names the log event behind it. */
export const EVENT_METADATA = 'urn:hermes-fleet:event';
