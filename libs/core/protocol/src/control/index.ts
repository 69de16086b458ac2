export { type ControlMessage, controlSchemas } from './json-schema.ts';
export * from './reads.ts';
export * from './request.ts';
export * from './response.ts';
