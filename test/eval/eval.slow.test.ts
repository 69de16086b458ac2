import { testBriefs } from './brief-sweep.ts';

testBriefs(4, 6);
