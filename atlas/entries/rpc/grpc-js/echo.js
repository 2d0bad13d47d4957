// A service that needs no generated code: octets in, octets out.
const octets = value => value;
module.exports = { Echo: { path: '/atlas.Echo/Echo', requestStream: false, responseStream: false,
  requestSerialize: octets, requestDeserialize: octets, responseSerialize: octets, responseDeserialize: octets } };
