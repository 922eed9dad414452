// TorchScript's classes, lists and values, and autograd's functions, as far as host code around a launch names them.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>

#include "cuda.h"

namespace c10 {
struct intrusive_ptr_target {
  virtual ~intrusive_ptr_target() = default;
};
template <class T> struct intrusive_ptr : std::shared_ptr<T> {
  using std::shared_ptr<T>::shared_ptr;
  intrusive_ptr(std::shared_ptr<T> p) : std::shared_ptr<T>(std::move(p)) {}
  bool defined() const { return this->get() != nullptr; }
};
template <class T, class... A> intrusive_ptr<T> make_intrusive(A &&...a) {
  return std::make_shared<T>(std::forward<A>(a)...);
}
template <class T> struct List : std::vector<T> {
  using std::vector<T>::vector;
  T get(size_t i) const { return this->at(i); }
  std::vector<T> vec() const { return *this; }
};
template <class K, class V> struct Dict : std::map<K, V> {
  bool contains(const K &key) const { return this->count(key) != 0; }
};
// Operators that are called by name: nothing is registered here, and a call says so.
template <class F> struct TypedOperatorHandle;
template <class R, class... A> struct TypedOperatorHandle<R(A...)> {
  std::string name;
  R call(A...) const { klineage::fail("error", "", name + " is called by its name"); }
};
struct OperatorHandle {
  std::string name;
  template <class F> TypedOperatorHandle<F> typed() const { return {name}; }
};
struct Dispatcher {
  static Dispatcher &singleton() {
    static Dispatcher only;
    return only;
  }
  OperatorHandle findSchemaOrThrow(const char *name, const char *) const { return {name}; }
};
// The whole numbers from one to before another, as a loop over them goes through them.
template <class T> struct integer_range {
  struct iterator {
    T at;
    T operator*() const { return at; }
    iterator &operator++() { return ++at, *this; }
    bool operator!=(const iterator &other) const { return at < other.at; }
  };
  T first, last;
  iterator begin() const { return {first}; }
  iterator end() const { return {last}; }
};
template <class T> integer_range<T> irange(T last) { return {T(0), last}; }
template <class A, class B> integer_range<B> irange(A first, B last) { return {static_cast<B>(first), last}; }
template <class C> int64_t multiply_integers(const C &all) {
  int64_t product = 1;
  for (auto one : all) product *= one;
  return product;
}
using SymInt = int64_t;
// A value that was put somewhere and is asked for by its type: what was put there is lost.
struct IValue {
  IValue() = default;
  template <class T> IValue(T &&) {}
  template <class T> T to() const { return T{}; }
  at::Tensor toTensor() const { return {}; }
  int64_t toInt() const { return 0; }
  double toDouble() const { return 0; }
  bool toBool() const { return false; }
  bool isNone() const { return true; }
  template <class T> intrusive_ptr<T> toCustomClass() const { return {}; }
};
}  // namespace c10
namespace at {
using c10::Dict, c10::intrusive_ptr, c10::irange, c10::IValue, c10::List, c10::make_intrusive, c10::SymInt;
using c10::DimVector;
using SymIntArrayRef = IntArrayRef;
struct GradMode {
  static bool is_enabled() { return false; }
  static void set_enabled(bool) {}
};
struct AutoGradMode {
  AutoGradMode(bool) {}
};
}  // namespace at
namespace torch {
struct CustomClassHolder : c10::intrusive_ptr_target {};
template <class... A> struct init_of {};
template <class... A> init_of<A...> init() { return {}; }
template <class T> struct class_ {
  class_() = default;
  template <class... A> explicit class_(A &&...) {}
  template <class... A> class_ &def(A &&...) { return *this; }
  template <class... A> class_ &def_static(A &&...) { return *this; }
  template <class... A> class_ &def_readonly(A &&...) { return *this; }
  template <class... A> class_ &def_readwrite(A &&...) { return *this; }
  template <class... A> class_ &def_property(A &&...) { return *this; }
  template <class... A> class_ &def_pickle(A &&...) { return *this; }
};
namespace autograd {
struct AutogradContext {
  variable_list saved;
  std::unordered_map<std::string, c10::IValue> saved_data;
  void save_for_backward(variable_list all) { saved = std::move(all); }
  variable_list get_saved_variables() const { return saved; }
  void mark_non_differentiable(const variable_list &) {}
  void mark_dirty(const variable_list &) {}
  void set_materialize_grads(bool) {}
  bool needs_input_grad(size_t) const { return true; }
};
template <class T> struct Function {
  template <class... A> static auto apply(A &&...a) {
    AutogradContext context;
    return T::forward(&context, std::forward<A>(a)...);
  }
};
}  // namespace autograd
}  // namespace torch
