package practice

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// authority is a certificate authority of the cluster.
type authority struct {
	certificate *x509.Certificate
	pem         []byte
	key         crypto.Signer
}

// pki is the part of k3s's server/tls that the components need: file names are
// k3s's own.
type pki struct {
	dir            string
	server, client authority
}

// loadPKI reads the authorities from dir, or makes them and the certificates
// they sign.
func loadPKI(dir string) (*pki, error) {
	p := &pki{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, diskError(err, dir)
	}
	for name, a := range map[string]*authority{"server-ca": &p.server, "client-ca": &p.client} {
		err := a.load(p.path(name))
		if errors.Is(err, os.ErrNotExist) {
			err = a.create(p.path(name), "k3s-"+name)
		}
		if err != nil {
			return nil, fmt.Errorf("certificate authority %s: %w", name, diskError(err, dir))
		}
	}
	if err := p.serviceKey(); err != nil {
		return nil, diskError(err, dir)
	}
	return p, nil
}

func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

func (a *authority) load(base string) error {
	certPEM, err := os.ReadFile(base + ".crt")
	if err != nil {
		return err
	}
	keyPEM, err := os.ReadFile(base + ".key")
	if err != nil {
		return err
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return fmt.Errorf("%s.crt or .key is not PEM", base)
	}
	if a.certificate, err = x509.ParseCertificate(certBlock.Bytes); err != nil {
		return err
	}
	a.pem = certPEM
	a.key, err = x509.ParseECPrivateKey(keyBlock.Bytes)
	return err
}

func (a *authority) create(base, name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.key = key
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name + "@practice"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := writeKey(base+".key", key); err != nil {
		return err
	}
	return os.WriteFile(base+".crt", a.pem, 0o644)
}

// issue signs a certificate for subject and gives it with its key, as PEM.
func (a *authority) issue(subject pkix.Name, usage x509.ExtKeyUsage, names []string, addresses []net.IP) (cert, key []byte, err error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: subject, DNSNames: names, IPAddresses: addresses,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, signer.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(signer)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), nil
}

// serving writes the API server's certificate, for loopback and the names
// inside a cluster.
func (p *pki) serving() error {
	cert, key, err := p.server.issue(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth,
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 43, 0, 1)})
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(p.path("serving-kube-apiserver.crt"), cert, 0o644),
		os.WriteFile(p.path("serving-kube-apiserver.key"), key, 0o600))
}

// kubeconfig writes a kubeconfig for a client of the API server at url.
func (p *pki) kubeconfig(path, url string, subject pkix.Name) error {
	cert, key, err := p.client.issue(subject, x509.ExtKeyUsageClientAuth, nil, nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"default": {Server: url, CertificateAuthorityData: p.server.pem}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"default": {ClientCertificateData: cert, ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{"default": {Cluster: "default", AuthInfo: "default"}},
		CurrentContext: "default",
	}, path)
}

// serviceKey makes the key that signs service account tokens, once.
func (p *pki) serviceKey() error {
	if _, err := os.Stat(p.path("service.key")); err == nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return writeNew(p.path("service.key"), pem.EncodeToMemory(block), 0o600)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return n
}
