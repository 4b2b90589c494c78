import { randomWorlds } from './random-worlds.ts'

randomWorlds(20)
