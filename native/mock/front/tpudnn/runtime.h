// How this library finds functions of libtpurt, which is loaded after it.
#pragma once

namespace mock::tpudnn {

/** Ends the process when libtpurt is not loaded. */
void* runtimeSymbol(const char* name);

template <class Function>
Function runtimeFunction(const char* name) {
    return reinterpret_cast<Function>(runtimeSymbol(name));
}

}  // namespace mock::tpudnn
