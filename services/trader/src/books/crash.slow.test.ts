import { testBookCrashes } from './testing/crash-sweep.ts';

testBookCrashes(1);
