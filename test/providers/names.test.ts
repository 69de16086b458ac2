import { playTopic } from './play.ts';

playTopic('names');
