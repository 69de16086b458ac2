export { closeInheritedDescriptors } from './close-inherited.ts';
