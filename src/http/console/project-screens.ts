/** All screens below `/console/p/:project`. */
import { dataScreens } from './data-screens.ts'
import type { Screen } from './screens.ts'
import { supportScreens } from './support-screens.ts'

export const projectScreens: readonly Screen[] = [...dataScreens, ...supportScreens]
